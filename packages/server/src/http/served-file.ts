import { z } from 'zod';
import { StreamReply } from './reply.ts';
import { type Route, route } from './route.ts';

/** A file of a page that is served beside the routes. Everybody may read it: it holds no secret. */
export interface ServedFile {
  /** `/` or `/page.js`; a route of that path comes first. */
  readonly path: string;
  /** Its media type, without a charset where it is text. */
  readonly type: string;
  readonly body: string | Uint8Array;
}

/** Only what comes from here runs, and nobody else shows it in a frame. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export function fileRoute({ path, type, body }: ServedFile): Route {
  const bytes = Buffer.from(body);
  const contentType = typeof body === 'string' ? `${type}; charset=utf-8` : type;
  return route({
    ...{ method: 'GET', path, summary: 'A file of the page', access: 'public', reply: z.string() },
    handle: async () =>
      new StreamReply(async (response) => {
        response.writeHead(200, {
          'content-type': contentType,
          'content-length': bytes.length,
          'content-security-policy': policy,
          'cache-control': 'no-cache',
        });
        response.end(bytes);
      }),
  });
}
