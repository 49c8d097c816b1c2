/** A server that is stopped or cut off says no goodbye. */
const goodbyeMs = 1_000;

/** When it has ended, well or not, or when it takes too long. The process stays for that, whatever it waits for. */
export async function soon(work: Promise<unknown>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, goodbyeMs);
  const done = () => {};
  await Promise.race([work.then(done, done), late]);
  clearTimeout(timer);
}
