// This file counts the work of a server that runs in the process of the test. The counts do not depend on the
// speed of the machine.

/** Counts the steps of all loops and copies that use the iterators of arrays. */
export async function stepsOf(work: () => Promise<unknown>): Promise<number> {
  const iterators = Object.getPrototypeOf([][Symbol.iterator]());
  const { next } = iterators;
  let count = 0;
  iterators.next = function (...args: unknown[]) {
    count += 1;
    return next.apply(this, args);
  };
  try {
    await work();
    return count;
  } finally {
    iterators.next = next;
  }
}
