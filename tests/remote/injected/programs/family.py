"""A program with children of its own: one that is spawned, one that is forked."""

import multiprocessing
import sys


def work(results):
    results.put(5)  # stop: work


def main():
    context = multiprocessing.get_context(sys.argv[1])
    results = context.Queue()
    child = context.Process(target=work, args=(results,))
    child.start()
    print("child", results.get(), flush=True)
    child.join()


if __name__ == "__main__":
    main()
