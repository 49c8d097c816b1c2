/** A path on a line of its own. What would break the line is shown as an escape. */
export function showPath(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to show as escapes
  return /[\u0000-\u001f\u007f]/.test(path) ? JSON.stringify(path) : path;
}
