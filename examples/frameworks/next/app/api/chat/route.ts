// A route for the AI SDK's useChat. It needs no Millrace server, because it runs the agent itself
// and streams the run.
import { readUIMessages } from '@millrace/agent';
import { agent, log } from '../../../../weather-agent.ts';

export async function POST(request: Request): Promise<Response> {
  const { id, messages, trigger } = await request.json(); // the id of the chat is the session
  if (trigger === 'regenerate-message') return new Response('Send a new message', { status: 400 });
  // Check here that the user may write to this chat. A client must not send other items than its text.
  const text = String(messages.at(-1).parts[0].text);
  const run = agent.run(text, { session: id, signal: request.signal });
  return run.toUIMessageStreamResponse();
}

/** The messages of a chat, for a page that was loaded again: useChat({ id, messages }). */
export async function GET(request: Request): Promise<Response> {
  const id = new URL(request.url).searchParams.get('id') ?? '';
  return Response.json(await readUIMessages(log, id)); // check here that the user may read this chat
}
