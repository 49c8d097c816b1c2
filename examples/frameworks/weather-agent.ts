// The agent of all examples in this folder, and the server that they mount. It needs no API key,
// because its model is scripted.
import { createAgent } from '@millrace/agent';
import { memoryLog } from '@millrace/log';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, createToken } from '@millrace/server';

const answers = Array.from({ length: 1000 }, () => 'Rain in Bath until the evening.');
export const log = memoryLog();

export const agent = createAgent({
  log,
  // For a real model, use anthropic({ model: 'claude-sonnet-4-5' }) from '@millrace/providers'.
  provider: scriptedProvider(answers, { pieces: 'token', pauseMs: 5 }),
});

export const server = createServer({
  log,
  agents: [{ type: 'loop', name: 'weather', agent }],
  basePath: '/api/agents',
  // This token is for programs. Keep it in the environment.
  tokens: [process.env['AGENTS_TOKEN'] ?? createToken()],
  // This function is for users of the application. Replace it with your own sign-in.
  authorize: ({ headers }) => {
    const [, user] = /session=(\w+)/.exec(headers.get('cookie') ?? '') ?? [];
    return user === undefined ? undefined : { user };
  },
});
