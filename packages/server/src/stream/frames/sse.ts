/** Encodes the time that a client waits before it reconnects. */
export function encodeRetry(ms: number): string {
  return `retry: ${Math.max(0, Math.round(ms))}\n\n`;
}

/** Returns the index at which the frame after `id` starts, or -1. */
export function indexAfter(bytes: Buffer, id: string): number {
  const line = `id: ${id}\n`;
  const inner = bytes.subarray(0, line.length).equals(Buffer.from(line))
    ? 0
    : bytes.indexOf(`\n\n${line}`);
  if (inner < 0) return -1;
  const end = bytes.indexOf('\n\n', inner === 0 ? 0 : inner + 2);
  return end < 0 ? -1 : end + 2;
}
