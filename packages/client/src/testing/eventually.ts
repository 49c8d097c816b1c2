/** Waits until it is so, without waiting for any time: other work goes on between two looks. */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 2_000_000; looks++) {
    if (await isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('It never came to be');
}
