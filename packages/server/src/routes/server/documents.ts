import { z } from 'zod';
import { docsPage, docsPolicy, docsStyle } from '../../http/docs-page.ts';
import { openApiOf } from '../../http/openapi.ts';
import { Reply, StreamReply } from '../../http/reply.ts';
import { type Route, route } from '../../http/route.ts';

/** The document of the other routes and of these, and a page that shows it. */
export function documentRoutes(others: readonly Route[]): readonly Route[] {
  // Made when somebody first asks: a server that nobody asks need not wait for it.
  let document: object | undefined;
  const routes: readonly Route[] = [
    route({
      method: 'GET',
      path: '/openapi.json',
      summary: 'This contract, as an OpenAPI document',
      access: 'public',
      reply: z.looseObject({}),
      async handle() {
        document ??= openApiOf([...others, ...routes]);
        return new Reply(document, { headers: { 'cache-control': 'no-cache' } });
      },
    }),
    route({
      method: 'GET',
      path: '/docs',
      summary: 'This contract, as a page',
      access: 'public',
      reply: z.string(),
      replyType: 'text/html',
      handle: async () => textReply('text/html', docsPage([...others, ...routes])),
    }),
    route({
      method: 'GET',
      path: '/docs.css',
      summary: 'How that page looks',
      access: 'public',
      reply: z.string(),
      replyType: 'text/css',
      handle: async () => textReply('text/css', docsStyle),
    }),
  ];
  return routes;
}

function textReply(type: string, text: string): StreamReply {
  return new StreamReply(async (response) => {
    response.writeHead(200, {
      'content-type': `${type}; charset=utf-8`,
      'content-security-policy': docsPolicy,
      'cache-control': 'no-cache',
    });
    response.end(text);
  });
}
