import { type PathFollower, pathFollower, pathForms } from '../../workspace/real-form.ts';
import { type AgentPlaces, agentPlaces, homeFolders } from './agent-places.ts';

/** Folders and files of a home folder that contain keys, passwords, histories or sessions. */
const keysInHome: readonly string[] = [
  // Keys and passwords.
  ...[
    '.ssh',
    '.gnupg',
    '.password-store',
    '.pki',
    '.local/share/keyrings',
    '.local/share/kwalletd',
  ],
  ...[
    '.netrc',
    '.git-credentials',
    '.config/git/credentials',
    '.vault-token',
    '.pgpass',
    '.my.cnf',
  ],
  ...['.config/sops', '.config/age', '.age', '.config/op', '.1password', '.config/Bitwarden CLI'],
  // Credentials of clouds, containers and hosting services.
  ...[
    '.aws',
    '.azure',
    '.config/gcloud',
    '.oci',
    '.kube',
    '.docker',
    '.config/containers',
    '.boto',
  ],
  ...['.s3cfg', '.config/rclone', '.terraform.d', '.terraformrc', '.config/gh', '.config/hub'],
  ...['.config/glab-cli', '.config/doctl', '.config/heroku', '.fly', '.config/stripe', '.vercel'],
  ...['.config/netlify', '.config/configstore', '.config/helm', '.wrangler', '.config/.wrangler'],
  ...['.config/vercel', '.local/share/com.vercel.cli', '.netlify', '.supabase', '.pulumi', '.tsh'],
  ...['.minikube', '.databrickscfg', '.snowflake', '.config/snowflake', '.kaggle'],
  ...['.cache/huggingface/token', '.cache/huggingface/stored_tokens', '.huggingface'],
  // Copies of `.ssh`, and wallets.
  ...['.ssh-backup', '.ssh.bak', '.ssh.old'],
  ...['.config/solana', '.ethereum', '.bitcoin', '.electrum'],
  // Credentials of package registries.
  ...['.npmrc', '.yarnrc.yml', '.pypirc', '.gem/credentials', '.cargo/credentials'],
  ...['.cargo/credentials.toml', '.m2/settings.xml', '.m2/settings-security.xml'],
  ...['.gradle/gradle.properties', '.nuget/NuGet/NuGet.Config', '.composer/auth.json'],
  ...['.config/composer/auth.json', '.config/pypoetry/auth.toml'],
  // The settings of other coding agents. They can contain keys.
  ...['.claude', '.claude.json', '.codex', '.gemini', '.cursor', '.config/github-copilot'],
  ...['.local/share/opencode', '.config/goose', '.aider', '.config/Code/User/globalStorage'],
  // Histories of shells and interpreters.
  ...['.bash_history', '.zsh_history', '.zhistory', '.sh_history', '.histfile', '.python_history'],
  ...[
    '.node_repl_history',
    '.psql_history',
    '.mysql_history',
    '.sqlite_history',
    '.rediscli_history',
  ],
  ...['.lesshst', '.viminfo', '.local/share/fish', '.irb_history', '.local/state/python'],
  // Profiles of browsers, mail and chat programs.
  ...['.mozilla', '.thunderbird', '.config/google-chrome', '.config/chromium', '.config/vivaldi'],
  ...['.config/BraveSoftware', '.config/microsoft-edge', '.config/opera', 'snap/firefox'],
  ...['snap/chromium', '.var/app', '.config/Signal', '.config/Slack', '.config/discord'],
  ...['Library/Keychains', 'Library/Cookies', 'Library/Messages', 'Library/Mail', 'Library/Safari'],
  ...['Library/Application Support/Google/Chrome', 'Library/Application Support/Firefox'],
  ...['Library/Application Support/BraveSoftware', 'Library/Application Support/Microsoft Edge'],
];

/** System files that only root can read. They matter if the agent runs as root. */
const keysOfSystem: readonly string[] = [
  ...['/etc/shadow', '/etc/shadow-', '/etc/gshadow', '/etc/gshadow-', '/etc/sudoers'],
  ...['/etc/sudoers.d', '/etc/ssh', '/etc/ssl/private', '/etc/krb5.keytab', '/etc/wireguard'],
  ...['/etc/NetworkManager/system-connections', '/var/lib/docker', '/var/lib/containerd'],
  ...['/var/lib/kubelet', '/var/lib/systemd', '/var/lib/sss', '/var/spool', '/var/log'],
  ...['/private/etc/master.passwd', '/Library/Keychains'],
];

/** Files of a home folder that start programs together with a shell, a desktop or a tool. */
const startUpInHome: readonly string[] = [
  ...['.bashrc', '.bash_profile', '.bash_login', '.bash_logout', '.bash_aliases', '.profile'],
  ...['.zshrc', '.zshenv', '.zprofile', '.zlogin', '.zlogout', '.kshrc', '.cshrc', '.tcshrc'],
  ...['.login', '.inputrc', '.gitconfig', '.config/git', '.config/fish', '.config/autostart'],
  ...['.config/systemd', '.config/environment.d', '.pam_environment', '.xprofile', '.xinitrc'],
  ...[
    '.xsession',
    '.vimrc',
    '.vim',
    '.config/nvim',
    '.emacs',
    '.emacs.d',
    '.tmux.conf',
    '.screenrc',
  ],
  ...['.local/bin', 'bin', '.cargo/bin', '.cargo/config.toml', '.cargo/env', '.npm-global/bin'],
  ...['.config/direnv', '.vscode', '.crontab', 'Library/LaunchAgents'],
  // Files that start-up files usually load, and start-up files of more shells.
  ...['.bashrc.d', '.bashrc.local', '.profile.d', '.zshrc.d', '.zshrc.local', '.zsh', '.oh-my-zsh'],
  ...['.fzf.bash', '.fzf.zsh', '.nvm/nvm.sh', '.asdf/asdf.sh', '.sdkman/bin', '.config/zsh'],
  ...['.config/nushell', '.config/elvish', '.config/powershell', '.config/tmux', '.tool-versions'],
  ...['.config/mise', '.bun/bin', '.deno/bin', '.volta/bin', 'go/bin'],
  // Settings of editors, terminals and desktops.
  ...['.config/emacs', '.doom.d', '.config/doom', '.spacemacs', '.config/helix', '.config/zed'],
  ...['.config/Code/User', '.config/VSCodium/User', '.config/Cursor/User', '.vscode-server'],
  ...['.wezterm.lua', '.config/wezterm', '.config/kitty', '.config/i3', '.config/sway'],
  ...['.config/hypr', '.config/plasma-workspace', '.local/share/systemd', '.hammerspoon'],
  ...['.local/share/applications'],
  // Settings of version control systems, interpreters and debuggers.
  ...['.hgrc', '.config/hg', '.jjconfig.toml', '.config/jj', '.subversion', '.local/lib'],
  ...['.ipython', '.Rprofile', '.irbrc', '.pryrc', '.gdbinit', '.lldbinit', '.yarnrc'],
  // Completions that shells run, and plugins of shells.
  ...['.bash_completion', '.bash_completion.d', '.local/share/bash-completion', '.oh-my-bash'],
  ...['.bash_it', '.zinit', '.local/share/zinit', '.zplug', '.zim', '.antigen', '.p10k.zsh'],
  ...['.config/starship.toml', '.config/sheldon'],
  // Folders that installers and version managers add to PATH, or from which interpreters load code.
  ...['.pyenv/bin', '.pyenv/shims', '.rbenv/bin', '.rbenv/shims', '.nodenv/shims', '.goenv/shims'],
  ...['.jenv/shims', '.asdf/bin', '.asdf/shims', '.local/share/mise', '.nvm/versions', '.sdkman'],
  ...['.yarn/bin', '.config/yarn', '.nix-profile', '.ghcup/bin', '.cabal/bin'],
  ...['.opam', '.juliaup/bin', '.julia/config', '.krew/bin', '.foundry/bin', '.dotnet/tools'],
  ...['.pub-cache/bin', '.rvm', '.node_modules', '.node_libraries', '.perl5', 'perl5'],
  // Settings of package managers that name a registry or a program.
  ...['.config/pip', '.pip', '.config/uv', '.config/pypoetry', '.condarc', '.gemrc', '.bundle'],
  // Start-up files of more desktops, and settings of terminals and tools that name programs.
  ...['.xsessionrc', '.gnomerc', '.xbindkeysrc', '.config/sxhkd', '.config/openbox'],
  ...['.config/bspwm', '.config/awesome', '.config/lxsession', '.config/xfce4', '.config/labwc'],
  ...['.config/niri', '.config/waybar', '.config/rofi', '.config/alacritty', '.alacritty.toml'],
  ...['.alacritty.yml', '.config/foot', '.config/ghostty', '.config/lazygit', '.config/k9s'],
  ...['.config/ranger', '.config/yazi', '.config/lf', '.mailcap', '.curlrc', '.wgetrc'],
  ...['.local/share/nvim', '.jupyter', '.ansible.cfg', '.lessfilter', '.forward', '.procmailrc'],
  // Files that a login or a desktop runs, and its extensions.
  ...['.config/user-dirs.dirs', '.xinputrc', '.config/autostart-scripts', '.vnc', '.config/pulse'],
  ...['.config/pipewire', '.config/wireplumber', '.local/share/dbus-1', '.local/share/plasma'],
  ...['.local/share/gnome-shell', '.local/share/nautilus', '.local/share/nemo', '.config/polybar'],
  ...['.local/share/kservices5', '.local/share/kio', '.config/conky', '.config/dunst'],
  // Programs and libraries that version managers and installers start, and their settings.
  ...['.rustup/toolchains', '.rustup/settings.toml', '.pyenv/versions', '.rbenv/versions'],
  ...['.nodenv/versions', '.goenv/versions', '.jenv/versions', '.asdf/installs', '.npm/_npx'],
  ...['.local/share/pnpm', '.local/share/uv', '.local/share/pipx', '.local/pipx', '.virtualenvs'],
  ...['.local/share/virtualenvs', '.local/share/fnm', '.local/share/gem', '.gem/ruby', '.elan'],
  ...['.local/share/coursier', '.luarocks', '.composer/vendor', '.config/composer/vendor'],
  ...['miniconda3', 'anaconda3', 'miniforge3', 'mambaforge', 'micromamba', '.conda', '.mambarc'],
  ...['.gradle/init.gradle', '.gradle/init.gradle.kts', '.gradle/init.d', '.sbt', '.lein'],
  ...['.groovy', '.jbang', '.m2/extensions.xml', '.config/clojure', '.clojure', '.mix', '.hex'],
  // Settings of tools that name programs.
  ...['.config/bat', '.config/mpv', '.config/vifm', '.config/newsboat', '.config/zellij'],
  ...['.config/neomutt', '.muttrc', '.mutt', '.config/kak', '.config/micro', '.config/aerc'],
  ...['.cursor-server', '.vscode-insiders', '.vscode-oss', '.config/sublime-text', '.atom'],
  ...['.config/JetBrains', '.local/share/JetBrains', '.local/share/code-server'],
];

/**
 * Places outside of a workspace that need protection, as absolute paths. Each place is included as its name says,
 * and with its real path. The paths may not exist.
 */
export interface KeyPlaces {
  /** The places that commands can neither read nor write. */
  readonly keys: readonly string[];
  /** The places that commands cannot write, even if the workspace contains the home folder. */
  readonly startUp: readonly string[];
  /** The places of the terminal agent. `keys` and `startUp` contain these places too. */
  readonly agent: AgentPlaces;
}

/** Returns the protected places of the user that runs this process, with those of the terminal agent. */
export function keyPlaces(
  env: Readonly<Record<string, string | undefined>>,
  follow: PathFollower = pathFollower(),
): KeyPlaces {
  const formsOf = (paths: readonly string[]) => [
    ...new Set(paths.flatMap((path) => pathForms(path, follow))),
  ];
  // The names are added to the text of HOME, because `join` would remove a `..` in it, and the kernel follows the
  // links before it applies `..`.
  const homes = homeFolders(env);
  const inHomes = (names: readonly string[]) =>
    formsOf(homes.flatMap((home) => names.map((name) => `${home}/${name}`)));
  const agent = agentPlaces(env, follow);
  return {
    keys: [...inHomes(keysInHome), ...formsOf(keysOfSystem), ...agent.secret],
    startUp: [...inHomes(startUpInHome), ...agent.executed],
    agent,
  };
}
