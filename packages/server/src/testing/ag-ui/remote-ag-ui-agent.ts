import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BaseEvent, EventType } from '@ag-ui/core';
import { EventSchema, RunAgentInputSchema } from '@ag-ui/core/schemas';
import { EventEncoder } from '@ag-ui/encoder';
import { onTestFinished } from 'vitest';

type RunAgentInput = ReturnType<typeof RunAgentInputSchema.parse>;

/** The actions of a remote agent in a run. */
export interface RemoteRun {
  readonly input: RunAgentInput;
  /** Aborts when the client closes the connection. */
  readonly signal: AbortSignal;
  /** Sends an event. */
  send(type: keyof typeof EventType, fields?: object): void;
}

/** Serves an agent with the encoder and the schemas of AG-UI. Returns its address and the inputs of its runs. */
export async function serveRemoteAgUi(onRun: (run: RemoteRun) => Promise<void>) {
  const inputs: RunAgentInput[] = [];
  const encoder = new EventEncoder();
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const input = RunAgentInputSchema.parse(JSON.parse(Buffer.concat(pieces).toString('utf8')));
    inputs.push(input);
    response.writeHead(200, { 'content-type': encoder.getContentType() });
    const left = new AbortController();
    response.once('close', () => left.abort());
    const { threadId, runId } = input;
    const send: RemoteRun['send'] = (type, fields = {}) =>
      void response.write(
        encoder.encode(EventSchema.parse({ type: EventType[type], ...fields }) as BaseEvent),
      );
    send('RUN_STARTED', { threadId, runId });
    await onRun({ input, signal: left.signal, send });
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, inputs };
}
