import type { Machine, World } from './world.ts';

/** A service that answers HTTP requests on a machine. */
export interface HttpService {
  readonly machine: Machine;
  readonly fetch: (request: Request) => Promise<Response>;
}

/** Maximum number of chunks of a response that are in transit. At this limit, the sender waits. */
const window = 8;

/**
 * The network between machines. Each message takes a random time. Messages of one connection stay
 * in order, but messages of different connections can overtake each other. While a link is
 * partitioned, its messages wait.
 */
export class Network {
  readonly #world: World;
  /** The end time of each partition, by the names of both machines. */
  readonly #blocked = new Map<string, number>();
  readonly #connections = new Set<Connection>();
  /** Until this time, messages are slower. */
  slowUntil = 0;
  /**
   * Until this time, some requests arrive twice. Only requests that are safe to repeat are
   * affected.
   */
  repeatUntil = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** Blocks all messages between two machines for a time. */
  partition(a: Machine, b: Machine, ms: number): void {
    for (const link of [linkOf(a, b), linkOf(b, a)]) this.#blocked.set(link, this.#world.now + ms);
  }

  /** Returns the arrival time of a message that is sent now. */
  arrival(from: Machine, to: Machine): number {
    const { now, random } = this.#world;
    const isSlow = this.slowUntil > now;
    const delayMs = 0.2 + random.next() * (isSlow ? 900 : random.oneIn(20) ? 60 : 4);
    return Math.max(now, this.#blocked.get(linkOf(from, to)) ?? 0) + delayMs;
  }

  /** Returns true if the link between the machines is partitioned now. */
  isPartitioned(a: Machine, b: Machine): boolean {
    return (this.#blocked.get(linkOf(a, b)) ?? 0) > this.#world.now;
  }

  /** Closes all open connections of a machine with an error. */
  cut(machine: Machine): void {
    for (const connection of [...this.#connections])
      if (connection.client === machine || connection.server === machine) connection.break();
  }

  /** Returns a `fetch` function for a client. `pick` chooses the server for each request. */
  fetchFrom(client: Machine, pick: () => HttpService | undefined) {
    return (url: URL, init: RequestInit): Promise<Response> => {
      const service = pick();
      const { promise, resolve, reject } = Promise.withResolvers<Response>();
      if (service === undefined || !service.machine.isUp) {
        const refuse = () => reject(new TypeError('fetch failed: connection refused'));
        this.#world.schedule(client, 1, 'is refused', refuse);
        return promise;
      }
      const connection = new Connection(this.#world, this, client, service);
      this.#connections.add(connection);
      connection.onEnd = () => this.#connections.delete(connection);
      connection.request(url, init, resolve, reject);
      if (this.repeatUntil > this.#world.now && isRepeatable(init))
        this.#repeat(client, service, url, init);
      return promise;
    };
  }

  /**
   * Sends the request a second time, as a proxy does after a missing answer. The second answer is
   * ignored.
   */
  #repeat(client: Machine, service: HttpService, url: URL, init: RequestInit): void {
    const { signal: _, ...rest } = init;
    const { machine } = service;
    this.#world.scheduleAt(machine, this.arrival(client, machine), 'gets a repeat', () => {
      const cancel = (response: Response) => response.body?.cancel();
      service
        .fetch(new Request(url, rest))
        .then(cancel)
        .catch(() => {});
    });
  }
}

function isRepeatable({ method, headers }: RequestInit): boolean {
  return method !== 'GET' && new Headers(headers).has('idempotency-key');
}

const linkOf = (from: Machine, to: Machine): string => `${from.name}>${to.name}`;

type Side = 'client' | 'server';

/** One request with its response. */
class Connection {
  readonly client: Machine;
  readonly server: Machine;
  onEnd: () => void = () => {};
  readonly #world: World;
  readonly #network: Network;
  readonly #service: HttpService;
  readonly #abort = new AbortController();
  /** The arrival time of the last message to each side. The next message must arrive later. */
  readonly #lastAt = { client: 0, server: 0 };
  #isOver = false;
  #fail: (error: Error) => void = () => {};

  constructor(world: World, network: Network, client: Machine, service: HttpService) {
    this.#world = world;
    this.#network = network;
    this.#service = service;
    this.client = client;
    this.server = service.machine;
    this.client.onCrash.add(this.break);
    this.server.onCrash.add(this.break);
  }

  request(
    url: URL,
    { signal, ...init }: RequestInit,
    resolve: (response: Response) => void,
    reject: (error: Error) => void,
  ): void {
    this.#fail = reject;
    signal?.addEventListener('abort', () => {
      if (this.#isOver) return;
      this.#fail(signal.reason);
      this.#leave();
    });
    this.#send('server', `gets ${init.method} ${url.pathname}`, () => {
      const request = new Request(url, { ...init, signal: this.#abort.signal });
      this.#service.fetch(request).then(
        (response) => this.#respond(response, resolve),
        () => this.break(),
      );
    });
  }

  /** Breaks the connection. Both sides receive an error. */
  readonly break = (): void => {
    if (this.#isOver) return;
    this.#end();
    const lost = () => this.#fail(new TypeError('fetch failed: the connection was reset'));
    if (this.client.isUp) this.#world.schedule(this.client, 2, 'loses its connection', lost);
    if (this.server.isUp)
      this.#world.schedule(this.server, 2, 'loses a client', () => this.#abort.abort());
  };

  #respond(response: Response, resolve: (response: Response) => void): void {
    const { status, headers, body } = response;
    const reader = body?.getReader();
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const acks = new Acks();
    this.#send('client', `gets ${status}`, () => {
      if (reader === undefined) {
        this.#end();
        return resolve(new Response(null, { status, headers }));
      }
      const stream = new ReadableStream<Uint8Array>({
        start: (opened) => {
          controller = opened;
        },
        cancel: () => this.#leave(),
      });
      this.#fail = (error) => controller?.error(error);
      resolve(new Response(stream, { status, headers }));
    });
    const pump = async () => {
      for (;;) {
        const next = await reader?.read();
        if (next === undefined || next.done) break;
        const { value } = next;
        this.#send('client', `gets ${value.length} bytes`, () => {
          controller?.enqueue(value);
          this.#send('server', 'gets an acknowledgement', () => acks.add());
        });
        await acks.next();
      }
      this.#send('client', 'gets the end', () => {
        if (this.#isOver) return;
        this.#end();
        controller?.close();
      });
    };
    if (reader !== undefined) pump().catch(() => this.break());
  }

  /** Closes the connection from the client side. */
  #leave(): void {
    if (this.#isOver) return;
    this.#send('server', 'loses a client', () => this.#abort.abort(), true);
    this.#end();
  }

  #end(): void {
    this.#isOver = true;
    this.client.onCrash.delete(this.break);
    this.server.onCrash.delete(this.break);
    this.onEnd();
  }

  #send(to: Side, label: string, run: () => void, isLast = false): void {
    const [from, machine] =
      to === 'client' ? [this.server, this.client] : [this.client, this.server];
    const at = Math.max(this.#network.arrival(from, machine), this.#lastAt[to] + 0.001);
    this.#lastAt[to] = at;
    this.#world.scheduleAt(machine, at, label, () => {
      if (isLast || !this.#isOver) run();
    });
  }
}

/** Makes a sender wait while too many of its chunks are in transit. */
class Acks {
  #pending = 0;
  #wake: () => void = () => {};

  add(): void {
    this.#pending--;
    this.#wake();
  }

  async next(): Promise<void> {
    this.#pending++;
    while (this.#pending >= window)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
  }
}
