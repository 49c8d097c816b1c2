/** A promise that the signal breaks off with its reason; what was begun is then taken back. */
export async function breakOff<T>(
  signal: AbortSignal | undefined,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => void,
): Promise<T> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const takeBack = begin(resolve, reject);
  const onAbort = () => {
    takeBack();
    reject(signal?.reason);
  };
  signal?.addEventListener('abort', onAbort);
  try {
    return await promise;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
