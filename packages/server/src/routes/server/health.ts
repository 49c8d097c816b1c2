import { z } from 'zod';
import { route } from '../../http/route.ts';

const reply = z.object({ status: z.literal('healthy') });

export const health = [
  route({
    method: 'GET',
    path: '/healthz',
    summary: 'The server lives',
    access: 'public',
    reply,
    handle: async () => ({ status: 'healthy' }),
  }),
  route({
    method: 'GET',
    path: '/readyz',
    summary: 'The server takes work, and what it keeps can be read',
    access: 'public',
    reply,
    async handle(_input, { service, log }) {
      const page = { limit: 1, pageNumber: 1, orderBy: 'updated_at', direction: 'desc' } as const;
      await Promise.all([service.agents.list(page), log.list({ limit: 1 })]);
      return { status: 'healthy' };
    },
  }),
];
