import { type Client, createClient } from '@millrace/client';
import { type ReactNode, StrictMode } from 'react';
import { createRoot, type Root } from 'react-dom/client';
import type { Labels } from '../labels/labels.ts';
import { MillraceRoot } from '../root.tsx';
import { readAddress } from './session-address.ts';
import { addStyles } from './style-sheet.ts';

/** The content of an element: a session of a client. */
export interface ElementContent {
  readonly client: Client;
  readonly taskId: string;
  readonly element: SessionElement;
}

// A server that renders a page has no HTMLElement. It can import this module, but not use it.
const Base = (typeof HTMLElement === 'undefined' ? class {} : HTMLElement) as typeof HTMLElement;

/**
 * An element that shows a session of a server in a shadow root. It is safe by default: it loads nothing
 * from other servers, it shows no previews of code, and it sends its token only to the server of `src`.
 */
export abstract class SessionElement extends Base {
  static readonly observedAttributes: readonly string[] = [
    ...['src', 'token', 'theme', 'density', 'controls', 'placeholder'],
  ];

  #root: Root | undefined;
  #client: { readonly server: string; readonly client: Client } | undefined;
  #token: string | undefined;
  #labels: Labels | undefined;

  /** The URL of the session, as in the attribute `src`. */
  get src(): string {
    return this.getAttribute('src') ?? '';
  }

  set src(src: string) {
    this.setAttribute('src', src);
  }

  /**
   * The token for the server. A page can set this property instead of the attribute, so that the token is
   * not in the document. It is read before each request, so it can be replaced.
   */
  get token(): string {
    return this.#token ?? this.getAttribute('token') ?? '';
  }

  set token(token: string) {
    this.#token = token;
  }

  /** The texts of the element in one language. Default: English. */
  get labels(): Labels | undefined {
    return this.#labels;
  }

  set labels(labels: Labels | undefined) {
    this.#labels = labels;
    this.#render();
  }

  /** Renders the session. */
  protected abstract content(of: ElementContent): ReactNode;

  /** Called by the browser when the element is added to a document. */
  connectedCallback(): void {
    this.#takeEarly('src');
    this.#takeEarly('token');
    this.#takeEarly('labels');
    const shadow = this.shadowRoot ?? this.attachShadow({ mode: 'open' });
    addStyles(shadow);
    const place = document.createElement('div');
    place.style.setProperty('display', 'contents');
    shadow.replaceChildren(place);
    this.#root = createRoot(place);
    this.#render();
  }

  /** Called by the browser when the element is removed. */
  disconnectedCallback(): void {
    this.#root?.unmount();
    this.#root = undefined;
  }

  /** Called by the browser when an attribute changes. */
  attributeChangedCallback(): void {
    this.#render();
  }

  /**
   * Takes a property that the page has set before this class was loaded. It is a value of the element
   * itself until then, and hides the property of the class.
   */
  #takeEarly(name: 'src' | 'token' | 'labels'): void {
    if (!Object.hasOwn(this, name)) return;
    const value: unknown = this[name];
    Reflect.deleteProperty(this, name);
    Object.assign(this, { [name]: value });
  }

  #render(): void {
    const content = this.#content();
    const client = typeof content === 'string' ? undefined : content?.client;
    this.#root?.render(
      <StrictMode>
        <MillraceRoot
          client={client}
          labels={this.#labels}
          theme={this.#choice('theme', themes)}
          density={this.#choice('density', densities)}
        >
          {typeof content === 'string' ? (
            <p className="composer-error" role="alert">
              {content}
            </p>
          ) : (
            content && this.content(content)
          )}
        </MillraceRoot>
      </StrictMode>,
    );
  }

  /** Returns the session of `src`, or an error text if `src` is invalid. Undefined if there is no `src`. */
  #content(): ElementContent | string | undefined {
    if (this.src === '') return undefined;
    try {
      const { server, taskId } = readAddress(this.src, document.baseURI);
      return { client: this.#clientFor(server), taskId, element: this };
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #clientFor(server: string): Client {
    if (this.#client?.server === server) return this.#client.client;
    // A stream of the earlier client can reconnect for some seconds. It must not get the new token.
    this.#client?.client.close();
    const token = () => (this.#isServer(server) ? this.token : '');
    const client = createClient({ url: server, token });
    this.#client = { server, client };
    return client;
  }

  /** True if `src` names a session of this server now. The page can set `src` before or after `token`. */
  #isServer(server: string): boolean {
    try {
      return readAddress(this.src, document.baseURI).server === server;
    } catch {
      return false;
    }
  }

  #choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const given = this.getAttribute(name);
    return choices.find((one) => one === given);
  }
}

const themes = ['light', 'dark'] as const;
const densities = ['roomy', 'compact'] as const;
