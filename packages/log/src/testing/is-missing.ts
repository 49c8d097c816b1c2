/** Says that tests are skipped because something is not there; where all is required, that is an error. */
export function isMissing(isThere: boolean, missing: string): boolean {
  if (isThere) return false;
  if (process.env['MILLRACE_REQUIRE_ALL'] === '1') throw new Error(missing);
  console.warn(`Skipped: ${missing}`);
  return true;
}
