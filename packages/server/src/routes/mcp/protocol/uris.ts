import { isId } from '@millrace/core';

const scheme = 'millrace://sessions/';

/** The templates of the addresses of resources. */
export const uriTemplates: Readonly<Record<'session' | 'blob', string>> = {
  session: `${scheme}{session_id}`,
  blob: `${scheme}{session_id}/blobs/{hash}`,
};

/** Returns the address of a session, or of a part of it. */
export function sessionUri(taskId: string, path?: string): string {
  const uri = `${scheme}${encodeURIComponent(taskId)}`;
  return path === undefined ? uri : `${uri}/${path}`;
}

/** Reads the address of a session or of a blob. Returns undefined if the text is not such an address. */
export function parseUri(
  uri: string,
): { readonly taskId: string; readonly hash: string | undefined } | undefined {
  const [, encoded = '', hash] =
    /^millrace:\/\/sessions\/([^/?#]{1,3072})(?:\/blobs\/([0-9a-f]{64}))?$/.exec(uri) ?? [];
  try {
    const taskId = decodeURIComponent(encoded);
    return isId(taskId) ? { taskId, hash } : undefined;
  } catch {
    return undefined;
  }
}
