// A page that is as plain as in the AI SDK's useChat guide: text in spans, no Markdown, no virtual
// list. The URL contains the address of the chat, the address of earlier messages, and the
// throttle.

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

interface ChatProps {
  readonly api: string;
  readonly id: string;
  readonly initialMessages: UIMessage[];
  readonly throttle: number | undefined;
}

function Chat({ api, id, initialMessages, throttle }: ChatProps) {
  const { messages, sendMessage, status } = useChat({
    id,
    messages: initialMessages,
    transport: new DefaultChatTransport({ api }),
    ...(throttle !== undefined && { throttle }),
  });
  const [input, setInput] = useState('');
  return (
    <>
      {messages.map((message) => (
        <div key={message.id}>
          {message.role === 'user' ? 'User: ' : 'AI: '}
          {message.parts.map((part, index) =>
            // biome-ignore lint/suspicious/noArrayIndexKey: as in the guide
            part.type === 'text' ? <span key={index}>{part.text}</span> : null,
          )}
        </div>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void sendMessage({ text: input });
          setInput('');
        }}
      >
        <input
          aria-label="Message"
          value={input}
          onChange={(event) => setInput(event.target.value)}
          disabled={status !== 'ready'}
        />
      </form>
    </>
  );
}

const query = new URLSearchParams(location.search);
const messagesUrl = query.get('messages');
const throttle = query.get('throttle');
const initialMessages =
  messagesUrl === null ? [] : ((await (await fetch(messagesUrl)).json()) as UIMessage[]);
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <Chat
      api={query.get('api') ?? '/api/chat'}
      id={query.get('id') ?? 'chat'}
      initialMessages={initialMessages}
      throttle={throttle === null ? undefined : Number(throttle)}
    />,
  );
