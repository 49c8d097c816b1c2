'use client';

// A page with components. It continues the session with this name after a reload.
import { type Client, createClient } from '@millrace/client';
import { Chat, useTaskSession } from '@millrace/react';
import { useEffect, useState } from 'react';
import '@millrace/react/styles.css';

export default function Page() {
  const [open, setOpen] = useState<{ readonly client: Client; readonly id: string }>();
  useEffect(() => {
    const client = createClient({ url: '/api/agents' });
    void client
      .createTask({ agent: 'weather', name: 'chat' })
      .then(({ id }) => setOpen({ client, id }));
  }, []);
  return open && <Weather {...open} />;
}

function Weather({ client, id }: { readonly client: Client; readonly id: string }) {
  const session = useTaskSession(client, id);
  return (
    <div style={{ height: '100dvh' }}>
      <Chat session={session} placeholder="Ask about the weather" />
    </div>
  );
}
