// The page of the AI SDK's guide to useChat, as plain as it stands there: text in spans, no Markdown, no
// virtual list. The URL says where the chat is, what was said, and whether updates are throttled.

import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

interface ChatProps {
  readonly api: string;
  readonly id: string;
  readonly said: UIMessage[];
  readonly throttle: number | undefined;
}

function Chat({ api, id, said, throttle }: ChatProps) {
  const { messages, sendMessage, status } = useChat({
    id,
    messages: said,
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
            // biome-ignore lint/suspicious/noArrayIndexKey: as the guide has it
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

const asked = new URLSearchParams(location.search);
const stored = asked.get('said');
const throttle = asked.get('throttle');
const said = stored === null ? [] : ((await (await fetch(stored)).json()) as UIMessage[]);
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <Chat
      api={asked.get('api') ?? '/api/chat'}
      id={asked.get('id') ?? 'chat'}
      said={said}
      throttle={throttle === null ? undefined : Number(throttle)}
    />,
  );
