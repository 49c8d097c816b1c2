import { z } from 'zod';
import { registerAgentSchema } from '../../contract/request-bodies.ts';
import { agentInfoSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';

export const registerAgent = route({
  method: 'POST',
  path: '/agents/register',
  summary: 'Registers an agent of another process, or takes the place of the one that has its name',
  body: registerAgentSchema,
  reply: agentInfoSchema.extend({ agent_api_key: z.string() }),
  handle: ({ body }, { service }) => service.agents.register(body),
});
