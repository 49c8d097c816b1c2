// A page as in the guide of assistant-ui: its primitives, Markdown, and a viewport that follows the
// answer. It has no virtual list. The URL contains the address of the chat and the address of earlier
// messages.

import { useChat } from '@ai-sdk/react';
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
} from '@assistant-ui/react';
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk';
import { MarkdownTextPrimitive } from '@assistant-ui/react-markdown';
import { DefaultChatTransport, type UIMessage } from 'ai';
import { createRoot } from 'react-dom/client';

const query = new URLSearchParams(location.search);

function PlainText({ text }: { readonly text: string }) {
  return <span>{text}</span>;
}

const MarkdownText = () => <MarkdownTextPrimitive />;

function UserMessage() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ Text: PlainText }} />
    </MessagePrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ Text: MarkdownText }} />
    </MessagePrimitive.Root>
  );
}

interface ChatProps {
  readonly api: string;
  readonly initialMessages: UIMessage[];
}

function Chat({ api, initialMessages }: ChatProps) {
  const chat = useChat({
    id: 'bench',
    messages: initialMessages,
    transport: new DefaultChatTransport({ api }),
  });
  const runtime = useAISDKRuntime(chat);
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root style={{ height: '100vh', display: 'flex', flexDirection: 'column' }}>
        <ThreadPrimitive.Viewport data-viewport style={{ flex: 1, overflowY: 'auto' }}>
          <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage }} />
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

const messagesUrl = query.get('messages');
const initialMessages =
  messagesUrl === null ? [] : ((await (await fetch(messagesUrl)).json()) as UIMessage[]);
const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <Chat api={query.get('api') ?? '/api/chat'} initialMessages={initialMessages} />,
  );
