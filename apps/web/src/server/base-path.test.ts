import { expect, test } from 'vitest';
import { hrefOf, routeOf } from '../app/route.tsx';
import { belowBase, readBasePath } from './base-path.ts';
import { earlyStream } from './early-stream.ts';

const pageWith = (content: string | undefined) => ({
  querySelector: () => (content === undefined ? null : { getAttribute: () => content }),
});
const read = (content: string | undefined) => readBasePath(pageWith(content) as never);

test('22.5: the page reads its base path from the element that the server adds', () => {
  expect(['/agents', '/a/b-c', '', '//evil.example', '/a b', undefined].map(read)).toEqual([
    ...['/agents', '/a/b-c', '', '', '', ''],
  ]);
});

test('22.5: below a base path, links and streams of the page have the base path', () => {
  expect(belowBase('/agents/app/tasks/a', '/agents')).toBe('/app/tasks/a');
  expect(belowBase('/agents', '/agents')).toBe('/');
  expect(belowBase('/agentsmith', '/agents')).toBe('/agentsmith');
  const href = hrefOf({ page: 'task', id: 'a', at: 3 }, '/agents');
  expect(href).toBe('/agents/app/tasks/a?at=3');
  expect(routeOf(href, '/agents')).toEqual({ page: 'task', id: 'a', at: 3 });
  const asked: string[] = [];
  const fetched = async (url: URL) => {
    asked.push(url.href);
    return new Response();
  };
  earlyStream('https://x.example/agents/app/tasks/a', '', fetched, '/agents');
  expect(asked).toEqual(['https://x.example/agents/tasks/a/stream?view=records&start=recent']);
});
