// A chat with an agent of a Millrace server. The address of the page contains the session, so a reload
// continues it.
import { createClient } from '@millrace/client';
import { Chat, MillraceRoot, useTaskSession } from '@millrace/react';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import '@millrace/react/styles.css';

const client = createClient({ url: '/' });
const given = location.hash.slice(1);
const id = given === '' ? (await client.createTask({ agent: 'weather' })).id : given;
location.hash = id;

function App() {
  const session = useTaskSession(client, id);
  return (
    <MillraceRoot client={client}>
      <Chat session={session} placeholder="Ask about the weather" />
    </MillraceRoot>
  );
}

const root = document.getElementById('root');
if (root !== null)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
