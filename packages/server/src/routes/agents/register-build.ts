import { route } from '../../http/route.ts';
import { agentInfoSchema } from '../../wire/agent-info.ts';
import { registerBuildSchema } from '../request-bodies.ts';

export const registerBuild = route({
  method: 'POST',
  path: '/agents/register-build',
  summary: 'Announces an agent that is built and does not run yet',
  body: registerBuildSchema,
  reply: agentInfoSchema,
  handle: ({ body }, { service }) => service.agents.registerBuild(body),
});
