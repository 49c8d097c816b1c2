import { registerBuildSchema } from '../../contract/request-bodies.ts';
import { agentInfoSchema } from '../../contract/task.ts';
import { route } from '../../http/route.ts';

export const registerBuild = route({
  method: 'POST',
  path: '/agents/register-build',
  summary: 'Announces an agent that is built and does not run yet',
  body: registerBuildSchema,
  reply: agentInfoSchema,
  handle: ({ body }, { service }) => service.agents.registerBuild(body),
});
