import { createContext, useContext } from 'react';

export interface Shell {
  /** The list of sessions is shown, where it does not fit beside. */
  readonly isListOpen: boolean;
  readonly setListOpen: (isOpen: boolean) => void;
}

export const ShellContext = createContext<Shell>({ isListOpen: false, setListOpen: () => {} });

export function useShell(): Shell {
  return useContext(ShellContext);
}
