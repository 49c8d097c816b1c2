import { connect } from 'node:net';

interface RawAnswer {
  readonly text: string;
  /** 0 where it hung up without one. */
  readonly status: number;
}

/** What a server says to these bytes until it hangs up, or until `isEnough`. */
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
    // It may hang up while bytes are still on their way to it.
    socket.on('error', () => {});
    socket.on('close', done);
    socket.write(bytes);
  });
}
