/**
 * Reads the path at which the server is mounted, for example `/agents`, from the element that the
 * server adds to the page. Empty for the root, and while Vite serves the page.
 */
export function readBasePath(page: Pick<Document, 'querySelector'> | undefined): string {
  const given = page?.querySelector('meta[name="millrace-base"]')?.getAttribute('content') ?? '';
  return /^(?:\/[\w.~-]+)+$/.test(given) ? given : '';
}

/** The path at which the server is mounted. */
export const basePath: string = readBasePath(
  typeof document === 'undefined' ? undefined : document,
);

/** Returns a path of this page's URL without the base path. */
export function belowBase(pathname: string, base: string = basePath): string {
  const isBelow = pathname === base || pathname.startsWith(`${base}/`);
  return isBelow ? pathname.slice(base.length) || '/' : pathname;
}

/** Returns a path of the server with the base path, for requests and links. */
export function withBase(path: string): string {
  return `${basePath}${path}`;
}
