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

const searches = ['every', 'filter', 'find', 'findIndex', 'findLast', 'some'] as const;

/** Counts the entries that the searches of arrays look at. */
export async function searchStepsOf(work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const restores = searches.map((name) => {
    const original = Array.prototype[name] as (...args: unknown[]) => unknown;
    const counted = function (this: unknown[], fits: (...args: unknown[]) => unknown, of: unknown) {
      const look = (...args: unknown[]) => {
        count += 1;
        return fits.apply(of, args);
      };
      return original.call(this, typeof fits === 'function' ? look : fits);
    };
    Object.assign(Array.prototype, { [name]: counted });
    return () => Object.assign(Array.prototype, { [name]: original });
  });
  try {
    await work();
    return count;
  } finally {
    for (const restore of restores) restore();
  }
}
