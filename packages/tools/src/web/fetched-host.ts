/** Returns the host for which a call of `web_fetch` needs permission. Returns undefined for an invalid URL. */
export function fetchedHost(given: unknown): string | undefined {
  const url = typeof given === 'string' ? URL.parse(given) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.hostname.toLowerCase().replace(/\.$/, '') || undefined;
}
