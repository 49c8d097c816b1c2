import { connect, type Socket } from 'node:net';
import type { ViewersCommand, ViewersReport } from './viewers.ts';

// Runs many readers of one stream. They have their own process, so that the measured process does
// only the server's work.

const [port = '0', count = '0'] = process.argv.slice(2);
const now = () => performance.timeOrigin + performance.now();
const send = (report: ViewersReport) => process.send?.(report);

interface Reader {
  socket: Socket;
  tail: string;
}

let readers: Reader[] = [];
let isTimed = false;
let delays: number[] = [];
let wanted: { readonly mark: string; left: Set<Reader> } | undefined;

function open(path: string, lastEventId: string | undefined, isStalled: boolean): Reader {
  const socket = connect(Number(port), '127.0.0.1');
  const reader: Reader = { socket, tail: '' };
  const cursor = lastEventId === undefined ? '' : `last-event-id: ${lastEventId}\r\n`;
  socket.on('error', () => {});
  socket.on('data', (data) => {
    read(reader, data.toString('latin1'));
    if (isStalled && !wanted?.left.has(reader)) socket.pause();
  });
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${cursor}\r\n`);
  return reader;
}

function read(reader: Reader, data: string): void {
  const text = reader.tail + data;
  if (isTimed) {
    const received = now();
    for (const [, sent] of text.matchAll(/@(\d+\.\d+)@/g)) delays.push(received - Number(sent));
  }
  // A mark may be split between two chunks.
  const rest = isTimed
    ? text.slice(Math.max(text.lastIndexOf('@') + 1, text.length - 40))
    : text.slice(-40);
  if (wanted?.left.has(reader) && text.includes(wanted.mark)) {
    wanted.left.delete(reader);
    if (wanted.left.size === 0) finish();
  }
  reader.tail = rest;
}

function finish(): void {
  wanted = undefined;
  const sorted = delays.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  send({ at: now(), count: sorted.length, p50: at(0.5), p99: at(0.99) });
  delays = [];
}

process.on('message', (command: ViewersCommand) => {
  switch (command.type) {
    case 'connect': {
      for (const { socket } of readers) socket.destroy();
      const { path, lastEventId, isStalled = false } = command;
      isTimed = false;
      readers = Array.from({ length: Number(count) }, (_, index) =>
        open(path.replace('{index}', String(index)), lastEventId, isStalled),
      );
      wanted = { mark: command.mark, left: new Set(readers) };
      break;
    }
    case 'await':
      isTimed = command.isTimed ?? false;
      wanted = { mark: command.mark, left: new Set(readers) };
      if (command.isFresh) for (const reader of readers) reader.tail = '';
      break;
    case 'disconnect':
      for (const { socket } of readers) socket.destroy();
      readers = [];
      break;
  }
  send({ at: now(), count: 0, p50: 0, p99: 0 });
});
send({ at: now(), count: 0, p50: 0, p99: 0 });
