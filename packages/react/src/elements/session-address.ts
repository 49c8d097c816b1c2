/** The server and the id of a session. */
export interface SessionAddress {
  /** The URL of the server, with its base path. */
  readonly server: string;
  readonly taskId: string;
}

/**
 * Reads the attribute `src`: the URL of a task, such as `https://agents.example/tasks/4f1c`, or of its
 * page. Throws if it is not one.
 */
export function readAddress(src: string, base: string): SessionAddress {
  const url = URL.canParse(src, base) ? new URL(src, base) : undefined;
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:';
  const [, path, id] = /^(.*?)(?:\/app)?\/tasks\/([^/]+)\/?$/.exec(url?.pathname ?? '') ?? [];
  if (url === undefined || !isWeb || path === undefined || id === undefined)
    throw new Error(
      'The attribute src is not the URL of a session. Write it like https://agents.example/tasks/4f1c',
    );
  if (url.username !== '' || url.password !== '')
    throw new Error('The attribute src contains a password. Use the property token instead');
  return { server: `${url.origin}${path}/`, taskId: decodeURIComponent(id) };
}
