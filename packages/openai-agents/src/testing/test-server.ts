import { createClient } from '@millrace/client';
import { parseJson } from '@millrace/core';
import {
  createServer,
  type ServedAgent,
  type Task,
  type TaskMessage,
  type Update,
} from '@millrace/server';
import { onTestFinished } from 'vitest';

/** Starts a server with one agent on its own port. Returns functions that show what its clients see. */
export async function startTestServer(agent: ServedAgent) {
  const diagnostics: string[] = [];
  const server = createServer({
    ...{ tokens: 'none', agents: [agent] },
    onDiagnostic: (problem) => void diagnostics.push(problem),
  });
  const { url } = await server.listen({ port: 0 });
  const client = createClient({ url });
  onTestFinished(async () => {
    client.close();
    await server.close();
  });
  const rpc = async <T>(method: string, params: object): Promise<readonly T[]> => {
    const response = await fetch(`${url}/agents/name/${agent.name}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id: 1, method, params }),
    });
    const lines = (await response.text()).split('\n').filter((line) => line !== '');
    return lines.map((line) => resultIn<T>(line));
  };
  const [task] = await rpc<Task>('task/create', {});
  const task_id = task?.id ?? '';
  const content = { type: 'text', author: 'user', content: 'Bread?' };
  return {
    /** The messages for the operator. */
    diagnostics,
    /** Sends a message and returns its streamed updates. */
    send: () => rpc<Update>('message/send', { task_id, content, stream: true }),
    sendQuietly: () => rpc('message/send', { task_id, content }),
    tell: () => rpc('event/send', { task_id, content }),
    interrupt: () => rpc('task/interrupt', { task_id }),
    messages: async (): Promise<readonly string[]> => {
      const response = await fetch(`${url}/messages?task_id=${task_id}`);
      const messages = (await response.json()) as readonly TaskMessage[];
      return messages.map((message) => summarize(message.content)).reverse();
    },
    task: async (): Promise<Task> =>
      (await fetch(`${url}/tasks/${task_id}`)).json() as Promise<Task>,
    /** Resolves when the agent has written this text. */
    until: (text: string) =>
      client.task(task_id).until(({ items }) => JSON.stringify(items).includes(text)),
    /** Resolves when the agent has worked and is idle again. */
    rest: () =>
      client.task(task_id).until(({ items, isRunning }) => items.length > 0 && !isRunning),
  };
}

function resultIn<T>(line: string): T {
  const parsed = parseJson(line);
  if (!parsed.ok) throw new Error(`Not JSON: ${line}`);
  const { result, error } = parsed.value as { result?: T; error?: { message: string } };
  if (error !== undefined && error !== null) throw new Error(error.message);
  return result as T;
}

/** Returns a short form of a message, without common fields. */
export function summarize(content: TaskMessage['content']): string {
  switch (content.type) {
    case 'text':
      return `${content.author}: ${content.content}`;
    case 'reasoning':
      return `thought: ${[...content.summary, ...(content.content ?? [])].join('|')}`;
    case 'tool_request':
      return `${content.tool_call_id}: ${content.name}(${JSON.stringify(content.arguments)})`;
    case 'tool_response':
      return `${content.tool_call_id}: ${content.name} = ${JSON.stringify(content.content)}`;
    case 'data':
      return `data: ${JSON.stringify(content.data)}`;
  }
}
