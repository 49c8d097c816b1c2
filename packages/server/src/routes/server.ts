import { z } from 'zod';
import { createOpenApiDocument } from '../http/openapi.ts';
import { type BodyEncoder, createEncoder } from '../http/page-files.ts';
import { type Route, type RouteContext, route, StreamReply } from '../http/route.ts';

const healthReply = z.object({ status: z.literal('healthy') });

/** Health checks for load balancers. */
export const healthRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/healthz',
    summary: 'Check that the server is up',
    access: 'public',
    reply: healthReply,
    handle: async () => ({ status: 'healthy' }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    summary:
      'Check that the server is ready: its log and its rows can be read, and accept writes. 503 with the reason if not',
    access: 'public',
    reply: healthReply,
    async handle(_input, { storage }) {
      await storage?.assertWritable();
      await storage?.assertReadable();
      return { status: 'healthy' };
    },
  }),
];

/**
 * Returns the routes for the OpenAPI document and for its HTML page. The document also contains these two
 * routes.
 */
export function documentRoutes(others: readonly Route[]): readonly Route[] {
  const documents = new Documents();
  const routes: readonly Route[] = [
    route({
      method: 'GET',
      path: '/openapi.json',
      summary: 'Get this OpenAPI document',
      access: 'public',
      reply: z.looseObject({}),
      handle: async (_input, { basePath, headers }) =>
        documents.reply(
          'application/json',
          () => JSON.stringify(createOpenApiDocument([...others, ...routes], basePath)),
          headers,
          basePath,
        ),
    }),
    route({
      method: 'GET',
      path: '/docs',
      summary: 'Show the routes as an HTML page',
      access: 'public',
      reply: z.string(),
      replyType: 'text/html',
      handle: async (_input, { headers }) =>
        documents.reply('text/html', () => docsPage([...others, ...routes]), headers),
    }),
    route({
      method: 'GET',
      path: '/docs.css',
      summary: 'Get the style sheet of the HTML page',
      access: 'public',
      reply: z.string(),
      replyType: 'text/css',
      handle: async (_input, { headers }) => documents.reply('text/css', () => docsStyle, headers),
    }),
  ];
  return routes;
}

/**
 * The bytes of documents, by content type. Each document is created at its first request and then cached. Any
 * client can request documents without a token, a thousand per connection, so creating them each time would
 * overload the server.
 */
class Documents {
  readonly #encoders = new Map<string, BodyEncoder>();

  /**
   * Returns a reply with a document. `basePath` is a path at which this server is mounted. A server has only
   * a few such paths.
   */
  reply(
    type: string,
    create: () => string,
    headers: RouteContext['headers'],
    basePath = '',
  ): StreamReply {
    const key = `${type} ${basePath}`;
    const encode = this.#encoders.get(key) ?? createEncoder(Buffer.from(create()), type);
    this.#encoders.set(key, encode);
    return new StreamReply(async (response) => {
      const { body, encoding } = await encode(headers);
      response.writeHead(200, {
        'content-type': `${type}; charset=utf-8`,
        ...(encoding !== undefined && { 'content-encoding': encoding }),
        'content-length': body.length,
        'content-security-policy': docsPolicy,
        'cache-control': 'no-cache',
        vary: 'accept-encoding, origin',
      });
      response.end(body);
    });
  }
}

/** The content security policy of the page. It allows no scripts and no resources of other hosts. */
const docsPolicy =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Returns an HTML page with a table of routes. */
function docsPage(routes: readonly Route[]): string {
  const rows = routes.map(
    ({ method, path, summary, body, query }) =>
      `<tr><td><code>${method}</code></td><td><code>${escapeHtml(path)}</code>${queryFields(query?.shape)}</td>` +
      `<td>${escapeHtml(summary)}${body === undefined ? '' : ' <small>(with a JSON body)</small>'}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Millrace: API reference</title>
<link rel="stylesheet" href="docs.css">
</head>
<body>
<h1>Millrace</h1>
<p>Agents as a service. <a href="openapi.json">openapi.json</a> describes every field.</p>
<table>
<thead><tr><th>method</th><th>path</th><th>what it does</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</body>
</html>
`;
}

const docsStyle = `body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color-scheme: light dark; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.8rem 0.4rem 0; border-bottom: 1px solid #8884; }
code, small { font-size: 0.875rem; }
td small { display: block; opacity: 0.75; }
`;

function queryFields(shape: Readonly<Record<string, unknown>> | undefined): string {
  const names = Object.keys(shape ?? {});
  return names.length === 0 ? '' : `<small>?${escapeHtml(names.join(', '))}</small>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
