"""Builds a program with the compiler of the system, as the platforms for Cortex-M do."""
from SCons.Script import Default, DefaultEnvironment

env = DefaultEnvironment()
flags = env.BoardConfig().get("build.extra_flags").split()
env.Replace(CC="arm-none-eabi-gcc", CXX="arm-none-eabi-g++", AS="arm-none-eabi-gcc", AR="arm-none-eabi-ar", LINK="$CC",
            RANLIB="arm-none-eabi-ranlib", PROGSUFFIX=".elf", SIZETOOL=None)
env.Append(CCFLAGS=flags, LINKFLAGS=[*flags, "--specs=nosys.specs", "-Wl,--gc-sections"])
Default(env.BuildProgram())
