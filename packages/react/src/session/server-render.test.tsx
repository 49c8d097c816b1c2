import { createClient } from '@millrace/client';
import { renderToString } from 'react-dom/server';
import { expect, test } from 'vitest';
import { useChatSession } from '../ai-sdk/chat-session.ts';
import { Chat } from './chat.tsx';
import { useTaskSession } from './task-session.ts';

// Frameworks such as Next.js render components on their server first, where no window exists.

test('a session of the client renders on a server, without a connection', () => {
  const fetch = () => expect.fail('The server must not connect');
  const client = createClient({ url: 'http://server.test', fetch });
  function Page() {
    return <Chat session={useTaskSession(client, 't1')} theme="dark" placeholder="Ask" />;
  }
  const html = renderToString(<Page />);
  expect(html).toContain('data-theme="dark"');
  expect(html).toContain('placeholder="Ask"');
});

test('a session of useChat renders on a server', () => {
  const nothing = async () => {};
  const chat = {
    id: 'c',
    messages: [],
    status: 'ready',
    sendMessage: nothing,
    stop: nothing,
  } as const;
  function Page() {
    return <Chat session={useChatSession(chat)} emptyText="Ask about the weather." />;
  }
  expect(renderToString(<Page />)).toContain('Ask about the weather.');
});
