// The same components for the useChat of the AI SDK. Here a Millrace server answers, but any server of
// the AI SDK can.
import { useChat } from '@ai-sdk/react';
import { Chat } from '@millrace/react';
import { useChatSession } from '@millrace/react/ai-sdk';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { createRoot } from 'react-dom/client';
import '@millrace/react/styles.css';

const transport = new DefaultChatTransport({ api: '/agents/name/weather/chat' });
const id = crypto.randomUUID();

function App() {
  const chat = useChat({
    ...{ id, transport },
    // An answer to a question about a tool call continues the run.
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const session = useChatSession(chat);
  return <Chat session={session} placeholder="Ask about the weather" />;
}

const root = document.getElementById('root');
if (root !== null) createRoot(root).render(<App />);
