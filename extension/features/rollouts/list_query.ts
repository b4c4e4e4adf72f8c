/** The query of a list that nothing filters. */

import type { ListQuery } from "./page_messages";

export const FIRST_ROWS = 100;
export const NO_QUERY: ListQuery = {
  search: "",
  filter: "",
  least_reward: null,
  most_reward: null,
  sort: "",
  descending: false,
  start: 0,
  limit: FIRST_ROWS,
};
