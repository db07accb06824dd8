import { Argument, type Command } from 'commander'
import { writeOut } from '../../terminal/output.js'
import { bashScript, fishScript, zshScript } from '../completion-scripts.js'

const SCRIPTS: Record<string, (commands: readonly Command[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

export function register(command: Command, loadAll: () => Promise<readonly Command[]>): void {
  command
    .description(
      'Print a script that completes commands, options and their values. For bash: durlog completion bash > ~/.local/share/bash-completion/completions/durlog. For zsh: save it as _durlog in a folder of $fpath. For fish: save it as ~/.config/fish/completions/durlog.fish.',
    )
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .action(async (shell: string) => writeOut((SCRIPTS[shell] as (typeof SCRIPTS)[string])(await loadAll())))
}
