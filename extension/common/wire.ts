// A method of the sidecar: its name, with the types of what goes out and what comes back.

/** The params of a method that takes none, and the result of one that answers nothing. */
export type Nothing = Readonly<Record<string, never>>;

/** A request to the sidecar.  `types` is never set; it only carries `P` and `R` to the compiler. */
export interface RequestMethod<P, R> {
  readonly method: string;
  readonly types?: readonly [P, R];
}

/** A notification from the sidecar. */
export interface NotificationMethod<V> {
  readonly method: string;
  readonly types?: readonly [V];
}

export function request<P, R>(method: string): RequestMethod<P, R> {
  return { method };
}

export function notification<V>(method: string): NotificationMethod<V> {
  return { method };
}
