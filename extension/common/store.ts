/** A value with listeners: readable for all, written by its owner. */

import type { Disposable } from "./disposables";

/** A value that others may read and follow but not set. */
export interface Readable<T> {
  readonly value: T;
  /** Calls `listener` after each change, not for the present value. */
  onChanged(listener: (value: T) => void): Disposable;
}

/** The owner's side of a `Readable`. */
export class Store<T> implements Readable<T> {
  private readonly listeners = new Set<(value: T) => void>();

  constructor(private present: T) {}

  get value(): T {
    return this.present;
  }

  set(value: T): void {
    this.present = value;
    for (const listener of [...this.listeners]) {
      listener(value);
    }
  }

  onChanged(listener: (value: T) => void): Disposable {
    // Each registration is a function of its own, so that the same listener may come twice.
    const own = (value: T): void => {
      listener(value);
    };
    this.listeners.add(own);
    return { dispose: () => this.listeners.delete(own) };
  }
}
