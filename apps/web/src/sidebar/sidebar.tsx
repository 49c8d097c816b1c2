import { useCallback } from 'react';
import { useApp, useDirectory } from '../app/app-context.ts';
import { Link, type Route } from '../app/route.tsx';
import { useTheme } from '../app/theme.ts';
import { IconButton } from '../design/button.tsx';
import {
  GridIcon,
  HelpIcon,
  Logo,
  MoonIcon,
  PlusIcon,
  ScreenIcon,
  SunIcon,
} from '../design/icons.tsx';
import { hasAllTasks } from '../server/directory.ts';
import { TaskList } from './task-list.tsx';
import { type FindTasks, findTasks } from './task-search.ts';
import './sidebar.css';

interface SidebarProps {
  readonly route: Route;
  readonly hasOverview: boolean;
  readonly onHelp: () => void;
}

const themeNames = { system: 'same as system', light: 'light', dark: 'dark' } as const;
const themeIcons = { system: ScreenIcon, light: SunIcon, dark: MoonIcon } as const;

/** The sidebar: links, the session list, theme and help. */
export function Sidebar({ route, hasOverview, onHelp }: SidebarProps) {
  const { directory, api } = useApp();
  const directoryState = useDirectory();
  const { tasks, isLoaded, hasMore } = directoryState;
  const more = useCallback(() => void directory.loadMore(), [directory]);
  const find = useCallback<FindTasks>((text, signal) => findTasks(api, text, signal), [api]);
  const [theme, nextTheme] = useTheme();
  const ThemeIcon = themeIcons[theme];
  return (
    <nav className="sidebar" id="sessions" aria-label="Sessions">
      <div className="sidebar-head">
        <Link to={{ page: 'new' }} className="brand">
          <Logo /> Millrace
        </Link>
      </div>
      <div className="sidebar-main">
        <Link
          to={{ page: 'new' }}
          className="sidebar-link"
          aria-current={route.page === 'new' ? 'page' : undefined}
        >
          <PlusIcon /> New session
        </Link>
        {hasOverview && (
          <Link
            to={{ page: 'overview' }}
            className="sidebar-link"
            aria-current={route.page === 'overview' ? 'page' : undefined}
          >
            <GridIcon /> Overview
          </Link>
        )}
      </div>
      <TaskList
        tasks={tasks}
        isLoaded={isLoaded}
        hasMore={hasMore}
        current={route.page === 'task' || route.page === 'inspect' ? route.id : undefined}
        onLoadMore={more}
        find={hasAllTasks(directoryState) ? undefined : find}
      />
      <div className="sidebar-foot">
        <IconButton label={`Colours: ${themeNames[theme]}`} onClick={nextTheme}>
          <ThemeIcon />
        </IconButton>
        <IconButton label="Keys and help (?)" onClick={onHelp}>
          <HelpIcon />
        </IconButton>
      </div>
    </nav>
  );
}
