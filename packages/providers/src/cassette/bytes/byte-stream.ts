/** Ends it, also for a reader that brought its own buffer and waits for it to be filled. */
export function closeBytes(controller: ByteController): void {
  controller.close();
  if ('byobRequest' in controller) controller.byobRequest?.respond(0);
}

export type ByteController = ReadableByteStreamController | ReadableStreamDefaultController;

/** May its readers bring buffers of their own? */
export function isByteStream(stream: ReadableStream): boolean {
  try {
    stream.getReader({ mode: 'byob' }).releaseLock();
    return true;
  } catch {
    return false;
  }
}
