/** Resources with an end: one owner disposes all of them together. */

export interface Disposable {
  dispose(): unknown;
}

/** Owns what is added to it and ends it in reverse order; what comes after its end is ended at once. */
export class Disposables implements Disposable {
  private owned: Disposable[] = [];
  private ended = false;

  add<T extends Disposable>(thing: T): T {
    if (this.ended) {
      thing.dispose();
    } else {
      this.owned.push(thing);
    }
    return thing;
  }

  dispose(): void {
    this.ended = true;
    for (const thing of this.owned.splice(0).reverse()) {
      thing.dispose();
    }
  }
}
