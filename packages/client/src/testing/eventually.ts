/** Waits until the condition is true. It uses no timers, and other work runs between two checks. */
export async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 2_000_000; looks++) {
    if (await isSo()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error('It never came to be');
}
