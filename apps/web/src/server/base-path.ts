/**
 * Reads the path at which the server is mounted, for example `/agents`. The server adds an element
 * with this path to the page. Returns an empty text for the root, and while Vite serves the page.
 */
export function readBasePath(page: Pick<Document, 'querySelector'> | undefined): string {
  const given = page?.querySelector('meta[name="millrace-base"]')?.getAttribute('content') ?? '';
  return /^(?:\/[\w.~-]+)+$/.test(given) ? given : '';
}

/** The path at which the server is mounted. */
export const basePath: string = readBasePath(
  typeof document === 'undefined' ? undefined : document,
);

/** Removes the base path from the path of a page URL. */
export function belowBase(pathname: string, base: string = basePath): string {
  const isBelow = pathname === base || pathname.startsWith(`${base}/`);
  return isBelow ? pathname.slice(base.length) || '/' : pathname;
}

/** Adds the base path to a path of the server, for requests and links. */
export function withBase(path: string): string {
  return `${basePath}${path}`;
}
