// A route for the AI SDK's useChat. It needs no Millrace server, because it runs the agent itself
// and streams the run.
import { agent } from '../../../../weather-agent.ts';

export async function POST(request: Request): Promise<Response> {
  const { messages } = await request.json();
  const run = agent.run(messages.at(-1).parts[0].text, { signal: request.signal });
  return run.toUIMessageStreamResponse();
}
