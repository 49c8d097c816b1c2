// Mounts the agents in a TanStack Start app.
import { createFileRoute } from '@tanstack/react-router';
import { server } from '../../../../../weather-agent.ts';

export const Route = createFileRoute('/api/agents/$')({
  server: { handlers: { ANY: ({ request }) => server.fetch(request) } },
});
