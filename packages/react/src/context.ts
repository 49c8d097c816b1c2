import { type ComponentType, type Context, createContext, type ReactNode, useContext } from 'react';
import type { LiveSources } from './chat/state/live-source.ts';

/** A session, and where it is shown. */
export interface SessionLinkProps {
  readonly id: string;
  /** The page to which the link leads: the conversation, or the inspector. */
  readonly view: 'chat' | 'inspector';
  readonly children: ReactNode;
}

/** The functions and values of the surrounding application that the components use. Each part is optional. */
export interface MillraceContextValue {
  /** The open sessions. Without them, a component shows only the sources that it is given. */
  readonly sources?: LiveSources | undefined;
  /** True if the user may only read, so that the components offer no answers. Default: false. */
  readonly isReadOnly?: boolean | undefined;
  /** Renders a link to another session, such as that of a sub-agent. Default: only the text. */
  readonly SessionLink?: ComponentType<SessionLinkProps> | undefined;
  /** Returns the URL of a session at a record. Default: no component shows such a URL. */
  readonly momentUrl?: ((id: string, at: number | undefined) => string) | undefined;
  /**
   * The URL of a folder with the sandboxed frames of a Millrace server, such as `/frames/`. Default:
   * documents, diagrams and remote pictures are shown as code and links, and nothing is loaded.
   */
  readonly framesUrl?: string | undefined;
  /** True inside of `MillraceRoot`, which has the colors and sizes. Default: false. */
  readonly isInRoot?: boolean | undefined;
}

/** The context of all components. */
export const MillraceContext: Context<MillraceContextValue> = createContext<MillraceContextValue>(
  {},
);

/** Returns what the application provides. */
export function useMillrace(): MillraceContextValue {
  return useContext(MillraceContext);
}
