import { connect } from 'node:net';

interface RawAnswer {
  readonly text: string;
  /** The HTTP status. 0 if the server closed the connection without an answer. */
  readonly status: number;
}

/** Sends raw bytes. It reads until the server closes the connection, or until `isEnough` returns true. */
export function rawRequest(
  port: number,
  bytes: string | Buffer,
  isEnough: (text: string) => boolean = () => false,
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1');
    const done = () => {
      socket.destroy();
      resolve({ text, status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0) });
    };
    socket.on('data', (chunk) => {
      text += chunk.toString();
      if (isEnough(text)) done();
    });
    // The server may close the connection while the client is still sending. This error is ignored.
    socket.on('error', () => {});
    socket.on('close', done);
    socket.write(bytes);
  });
}
