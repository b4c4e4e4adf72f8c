"""As much of Ray's own module of this place as reads the table of workers, in which a row comes late."""

ROW_COMES_AT = 3


class Accessor:
    questions = 0

    def get_worker_info(self, worker_id):
        self.questions += 1
        return b"row" if self.questions >= ROW_COMES_AT else None


class State:
    accessor = Accessor()

    def _connect_and_get_accessor(self):
        return self.accessor


state = State()
