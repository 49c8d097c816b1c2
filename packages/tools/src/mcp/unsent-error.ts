/** A message did not reach the server: what it asked for was not done. */
export class UnsentError extends Error {
  constructor() {
    super('The message was not sent: the connection is closed');
    this.name = 'UnsentError';
  }
}
